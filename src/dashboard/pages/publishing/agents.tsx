/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { SUGGEST_PERMISSION } from '../../../keys/model.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { countOpenChanges } from '../../../posts/suggestion-store.ts';
import { changePublication, readPublication } from '../../../public/service.ts';
import { editForm, editState } from '../../edit.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { formState } from '../../submission.ts';
import { PublishingHead } from '../../view/document.tsx';
import { Copy, counted, ToCopy } from '../../view/elements.tsx';
import { Form, Toggle } from '../../view/form.tsx';

const PATH = '/dashboard/:organizationId/publishing/agents';

const SwitchForm = Type.Object({ isMcpOn: Type.Boolean({ label: 'Let agents read published posts' }) });

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showAgents(visit)),

  editForm(PATH, 'owner', SwitchForm, showAgents, async ({ deps, organization, base }, typed, merge) => {
    const { isMcpOn } = await changePublication(deps, organization.id, ({ isMcpOn }) =>
      merge.changes(typed, { isMcpOn }),
    );
    const done = isMcpOn ? 'on. Agents need an API key to connect.' : 'off. Agents get 403 from now on.';
    return redirect(`${base}/publishing/agents`, `The endpoint for agents is ${done}`);
  }),
];

async function showAgents(visit: MemberVisit, error?: AppError) {
  const { deps, organization, role, base } = visit;
  const { isMcpOn, open } = await deps.db.read(async (tx) => ({
    isMcpOn: (await readPublication(tx, organization.id)).isMcpOn,
    open: await countOpenChanges(tx, organization.id),
  }));
  const { fields, problem } = formState(SwitchForm, {}, error);
  return view(
    'Agents',
    <>
      <PublishingHead title="Agents" visit={visit} current="publishing/agents" />
      <p class="lede">
        Agents such as Claude Code read your published changelog posts over MCP, the Model Context Protocol.
        If their key allows it, they also suggest changes, which you accept or dismiss.
      </p>
      {role === 'owner' ? (
        <Form
          to={`${base}/publishing/agents`}
          problem={problem}
          button="Save settings"
          edit={{
            ...editState(visit, { isMcpOn }, error),
            noun: 'switch',
            labels: { isMcpOn: fields.isMcpOn.label },
          }}
        >
          <Toggle
            name={fields.isMcpOn.name}
            label={fields.isMcpOn.label}
            isOn={isMcpOn}
            hint="The endpoint returns no drafts, scheduled posts, or LinkedIn posts. Agents can't publish or overwrite anything."
          />
        </Form>
      ) : (
        <p>
          The endpoint is {isMcpOn ? 'on' : 'off'}. Only owners can switch it {isMcpOn ? 'off' : 'on'}.
        </p>
      )}
      <h2>Suggestions</h2>
      <p>
        {open === 0 ? (
          'No open suggestions.'
        ) : (
          <a href={`${base}/posts?suggestion=1`}>{counted(open, 'open suggestion')}</a>
        )}
      </p>
      <Connecting url={`${deps.publicUrl()}/mcp`} base={base} />
    </>,
    { section: 'publishing', error },
  );
}

function Connecting({ url, base }: { url: string; base: string }) {
  const command = `claude mcp add --transport http tidings ${url} --header "Authorization: Bearer YOUR_API_KEY"`;
  const headers = { Authorization: 'Bearer YOUR_API_KEY' };
  const settings = { mcpServers: { tidings: { type: 'http', url, headers } } };
  return (
    <>
      <h2>Connect an agent</h2>
      <ol>
        <li>
          <a href={`${base}/settings/keys`}>Create an API key</a> for each agent and name it after the agent.
          To allow suggestions, choose “Read posts and suggest changes” (<code>{SUGGEST_PERMISSION}</code>).
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
