import { Type } from '@sinclair/typebox';
import type { ComponentChildren } from 'preact';
import type { AppError } from '../../../lib/app-error.ts';
import { SUGGEST_PERMISSION } from '../../../people/keys/store.ts';
import { fileNameOf, imageTypes, type Media } from '../../../posts/media/store.ts';
import { countOpenChanges } from '../../../posts/suggestions.ts';
import { MAX_LINKS, type Publication, publicAddresses } from '../../../readers/public/model.ts';
import { changePublication, readPublication } from '../../../readers/public/service.ts';
import { type EditState, editState } from '../../edit.ts';
import { formState, labelsOf } from '../../fields.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { editForm } from '../../submission.ts';
import type { EditWords } from '../../view/difference.tsx';
import {
  Copy,
  counted,
  Facts,
  Link,
  LinkButton,
  More,
  Status,
  ToCopy,
  useVisit,
} from '../../view/elements.tsx';
import { Field, Form, Select, TextArea, Toggle } from '../../view/form.tsx';
import { sentenceOf } from '../media/list.tsx';
import type { pageFormState } from './page.tsx';

export function PageSettings(props: {
  publication: Publication;
  images: readonly Media[];
  state: ReturnType<typeof pageFormState>;
  edit: EditState & EditWords;
}) {
  const { publication, images, edit } = props;
  const { fields, rows, problem, isPageOn, isFeedOn } = props.state;
  const { deps } = useVisit();
  const logo = images.find(({ id }) => id === fields.logoId.value);
  return (
    <Form to="publishing" problem={problem} button="Save settings" edit={edit}>
      <Toggle
        {...fields.isPageOn}
        isOn={isPageOn}
        hint="Everybody can read your published changelog posts. No key, no account."
      />
      <Toggle
        {...fields.isFeedOn}
        isOn={isFeedOn}
        hint="For feed readers, automations and a “What’s new” link on your own site."
      />
      <Field
        {...fields.slug}
        hint={
          <>
            {`${deps.publicUrl()}/changelog/`}
            <strong data-slug>{fields.slug.value}</strong>
            {publication.version !== '' &&
              '. An old address redirects for a year, unless another organization takes it.'}
          </>
        }
      />
      <Field {...fields.title} />
      <TextArea {...fields.description} more={{ rows: 2, class: 'short-text' }} />
      <div class="color">
        <Field {...fields.accentColor} hint="For links and buttons of the page, such as #2563eb." />
        <input
          type="color"
          id="field-accentPicker"
          name="accentPicker"
          value={colorOf(fields.accentColor.value, publication.accentColor)}
          aria-label="Pick accent color"
        />
      </div>
      <div>
        <Select
          {...fields.logoId}
          all="No logo"
          options={images.map(({ id, name }) => ({ value: id, label: name }))}
        />
        {logo !== undefined && <LogoPicture logo={logo} />}
      </div>
      <fieldset>
        <legend class="label">Footer links</legend>
        {rows.map((row) => (
          <div class="link-row">
            {row.map((field) => (
              <Field {...field} required={false} />
            ))}
          </div>
        ))}
        <p class="hint">{`Up to ${MAX_LINKS}. Clear a row to remove its link; save to get more rows.`}</p>
      </fieldset>
      <Field
        {...fields.address}
        required={false}
        placeholder="https://changelog.example.com"
        hint="The URL where your proxy serves the page. Links, feeds and previews then use it. Optional."
      />
    </Form>
  );
}

/** A color that the browser's control accepts. */
function colorOf(typed: string | undefined, stored: string): string {
  return typed !== undefined && /^#[0-9a-f]{6}$/i.test(typed) ? typed.toLowerCase() : stored;
}

function LogoPicture({ logo }: { logo: Media }) {
  const { width, height, alt } = logo;
  return <img class="logo" src={`/media/${fileNameOf(logo)}`} alt={alt} width={width} height={height} />;
}

/** A form of its own: it stores an image and makes it the logo at once. */
export function LogoUpload({ error }: { error: AppError | undefined }) {
  const { deps } = useVisit();
  if (deps.media.files === null) return <p class="hint">{deps.media.whyOff}.</p>;
  const problem = error === undefined ? null : sentenceOf(error);
  return (
    <More label="Upload logo…" kind="folded" isOpen={error !== undefined}>
      <Form to="publishing/logo" problem={problem} button="Upload logo" kind="" isUpload>
        <Field
          label="Image"
          name="file"
          type="file"
          accept={imageTypes.join(',')}
          hint="PNG, JPEG, GIF, WebP or AVIF. Save other changes first."
        />
      </Form>
    </More>
  );
}

/** The settings for members, who can't change them. */
export function Summary({ publication, images }: { publication: Publication; images: readonly Media[] }) {
  const { title, description, accentColor, logoId, links, address, slug } = publication;
  const logo = images.find(({ id }) => id === logoId);
  return (
    <Facts
      facts={[
        ['Title', title],
        ['Description', description || 'None'],
        ['Address', `/changelog/${slug}`],
        ['Custom domain', address ?? 'None'],
        ['Accent color', <code>{accentColor}</code>],
        ['Logo', logo === undefined ? 'None' : <LogoPicture logo={logo} />],
        ['Footer links', links.map(({ label }) => label).join(', ') || 'None'],
        ['Changes', 'Only owners can change these settings.'],
      ]}
    />
  );
}

/** What is on, and where readers find it. */
export function Addresses({ publication }: { publication: Publication }) {
  const { deps } = useVisit();
  const { page, feeds, widget } = publicAddresses(publication, deps.publicUrl());
  return (
    <>
      <Part id="page" title="Public page" isOn={page !== null}>
        {page === null ? (
          <p class="hint">A web page with your published changelog posts, newest first.</p>
        ) : (
          <>
            <h3 class="label">Address</h3>
            <ToCopy text={page} label="Copy" />
            <LinkButton to={page} label="Open page" />
          </>
        )}
      </Part>
      <Part id="feeds" title="Feeds and widget" isOn={feeds !== null}>
        {feeds === null || widget === null ? (
          <p class="hint">Atom, RSS and JSON feeds, and “What’s new” for your own site.</p>
        ) : (
          <>
            <h3 class="label">Atom</h3>
            <ToCopy text={feeds.atom} label="Copy" />
            <h3 class="label">RSS</h3>
            <ToCopy text={feeds.rss} label="Copy" />
            <h3 class="label">JSON Feed</h3>
            <ToCopy text={feeds.json} label="Copy" />
            <h3 class="label">Widget (HTML)</h3>
            <ToCopy text={widget} label="Copy" />
            {page === null && (
              <p class="hint">
                The public page is off, so the link in this code is dead without the script. Switch the page
                on, or change <code>href</code> to your own changelog.
              </p>
            )}
          </>
        )}
      </Part>
      <Part id="agents" title="Agents" isOn={publication.isMcpOn}>
        <p class="hint">Agents read published posts over MCP with an API key.</p>
        <LinkButton to="publishing/agents" label="Set up agents" />
      </Part>
    </>
  );
}

function Part(props: { id: string; title: string; isOn: boolean; children: ComponentChildren }) {
  return (
    <section class="card pad publish" aria-labelledby={`part-${props.id}`}>
      <div class="head">
        <h2 id={`part-${props.id}`}>{props.title}</h2>
        <Status status={props.isOn ? 'active' : 'disabled'} />
      </div>
      {props.children}
    </section>
  );
}

const PATH = '/dashboard/:organizationId/publishing/agents';

const SwitchForm = Type.Object({ isMcpOn: Type.Boolean({ label: 'Let agents read published posts' }) });

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showAgents(visit)),

  editForm(PATH, 'owner', SwitchForm, showAgents, async ({ deps, organization }, typed, merge) => {
    const { isMcpOn } = await changePublication(deps, organization.id, ({ isMcpOn }) =>
      merge.changes(typed, { isMcpOn }),
    );
    const done = isMcpOn ? 'on. Agents need an API key to connect.' : 'off. Agents get 403 from now on.';
    return redirect('publishing/agents', `The endpoint for agents is ${done}`);
  }),
];

async function showAgents(visit: MemberVisit, error?: AppError) {
  const { deps, organization, role } = visit;
  const { isMcpOn, open } = await deps.db.read(async (tx) => ({
    isMcpOn: (await readPublication(tx, organization.id)).isMcpOn,
    open: await countOpenChanges(tx, organization.id),
  }));
  const { fields, problem } = formState(SwitchForm, {}, error);
  return view(
    { title: 'Agents', tab: 'publishing/agents', error },
    <p class="lede">
      Agents such as Claude Code read your published changelog posts over MCP, the Model Context Protocol. If
      their key allows it, they also suggest changes, which you accept or dismiss.
    </p>,
    role === 'owner' ? (
      <Form
        to="publishing/agents"
        problem={problem}
        button="Save settings"
        edit={{ ...editState(visit, { isMcpOn }, error), noun: 'switch', labels: labelsOf(SwitchForm) }}
      >
        <Toggle
          {...fields.isMcpOn}
          isOn={isMcpOn}
          hint="The endpoint returns published changelog posts alone. Agents can't publish or overwrite anything."
        />
      </Form>
    ) : (
      <p>
        The endpoint is {isMcpOn ? 'on' : 'off'}. Only owners can switch it {isMcpOn ? 'off' : 'on'}.
      </p>
    ),
    <h2>Suggestions</h2>,
    <p>
      {open === 0 ? (
        'No open suggestions.'
      ) : (
        <Link to="posts?suggestion=1">{counted(open, 'open suggestion')}</Link>
      )}
    </p>,
    <Connecting url={`${deps.publicUrl()}/mcp`} />,
  );
}

function Connecting({ url }: { url: string }) {
  const command = `claude mcp add --transport http tidings ${url} --header "Authorization: Bearer YOUR_API_KEY"`;
  const headers = { Authorization: 'Bearer YOUR_API_KEY' };
  const settings = { mcpServers: { tidings: { type: 'http', url, headers } } };
  return (
    <>
      <h2>Connect an agent</h2>
      <ol>
        <li>
          <Link to="settings/keys">Create an API key</Link> for each agent and name it after the agent. To
          allow suggestions, choose “Read posts and suggest changes” (<code>{SUGGEST_PERMISSION}</code>).
        </li>
        <li>Add the endpoint to the agent. Replace YOUR_API_KEY with the key.</li>
      </ol>
      <h3 class="label">Endpoint</h3>
      <ToCopy text={url} label="Copy address" />
      <h3 class="label">Claude Code</h3>
      <ToCopy text={command} label="Copy command" />
      <h3 class="label">Other MCP clients</h3>
      <pre class="wrap" id="mcp-settings">
        {JSON.stringify(settings, null, 2)}
      </pre>
      <Copy text="mcp-settings" label="Copy settings" />
    </>
  );
}
