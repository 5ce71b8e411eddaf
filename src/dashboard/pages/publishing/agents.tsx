import { Type } from '@sinclair/typebox';
import type { AppError } from '../../../lib/app-error.ts';
import { SUGGEST_PERMISSION } from '../../../people/keys/store.ts';
import { countOpenChanges } from '../../../posts/suggestions.ts';
import { changePublication, readPublication } from '../../../readers/public/service.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { editForm } from '../../submission.ts';
import { Copy, counted, Link, ToCopy } from '../../view/elements.tsx';
import { FormOf } from '../../view/form.tsx';

const PATH = '/dashboard/:organizationId/publishing/agents';

const SwitchForm = Type.Object({
  isMcpOn: Type.Boolean({
    label: 'Let agents read published posts',
    hint: "The endpoint returns only published changelog posts. Agents can't publish or overwrite anything.",
  }),
});

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

async function showAgents({ deps, organization, isOwner }: MemberVisit, error?: AppError) {
  const { isMcpOn, open } = await deps.db.read(async (tx) => ({
    isMcpOn: (await readPublication(tx, organization.id)).isMcpOn,
    open: await countOpenChanges(tx, organization.id),
  }));
  const url = `${deps.publicUrl()}/mcp`;
  const command = `claude mcp add --transport http tidings ${url} --header "Authorization: Bearer YOUR_API_KEY"`;
  const headers = { Authorization: 'Bearer YOUR_API_KEY' };
  const settings = { mcpServers: { tidings: { type: 'http', url, headers } } };
  return view(
    { title: 'Agents', tab: 'publishing/agents', error },
    <p class="lede">
      Agents such as Claude Code read your published changelog posts over MCP, the Model Context Protocol. If
      their key allows it, they also suggest changes, which you accept or dismiss.
    </p>,
    isOwner ? (
      <FormOf
        schema={SwitchForm}
        edits={{ noun: 'switch', stored: { isMcpOn } }}
        {...{ error, to: 'publishing/agents', button: 'Save settings' }}
      />
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
    <h2>Connect an agent</h2>,
    <ol>
      <li>
        <Link to="settings/keys">Create an API key</Link> for each agent and name it after the agent. To allow
        suggestions, choose “Read posts and suggest changes” (<code>{SUGGEST_PERMISSION}</code>).
      </li>
      <li>Add the endpoint to the agent. Replace YOUR_API_KEY with the key.</li>
    </ol>,
    <h3 class="label">Endpoint</h3>,
    <ToCopy text={url} label="Copy address" />,
    <h3 class="label">Claude Code</h3>,
    <ToCopy text={command} label="Copy command" />,
    <h3 class="label">Other MCP clients</h3>,
    <pre class="wrap" id="mcp-settings">
      {JSON.stringify(settings, null, 2)}
    </pre>,
    <Copy text="mcp-settings" label="Copy settings" />,
  );
}
