import { nodeId } from './account.ts';
import type { SampleContext } from './context.ts';

const ID = 174_902_318;
const TAG = 'v2.4.0';

const NOTES = `### Added
- Quiet mode: engines start 40 % softer
- \`rocket status --json\`

### Fixed
- The fuel gauge showed yesterday's value after midnight
`;

const EDITED_NOTES = `${NOTES}- A crash when two pads shared a name
`;

/** A release that was just published. */
export function release(context: SampleContext): Record<string, unknown> {
  return { action: 'published', release: releaseObject(context, NOTES), ...context.common };
}

/** The same release, its notes edited a moment later. */
export function releaseEdited(context: SampleContext): Record<string, unknown> {
  const edited = { ...releaseObject(context, EDITED_NOTES), updated_at: context.minutesAgo(0) };
  const changes = { body: { from: NOTES.replaceAll('\n', '\r\n') } };
  return { action: 'edited', changes, release: edited, ...context.common };
}

function releaseObject(
  { pageUrl, apiUrl, minutesAgo, common }: SampleContext,
  notes: string,
): Record<string, unknown> {
  return {
    url: `${apiUrl}/releases/${ID}`,
    assets_url: `${apiUrl}/releases/${ID}/assets`,
    upload_url: `${apiUrl.replace('//api.', '//uploads.')}/releases/${ID}/assets{?name,label}`,
    html_url: `${pageUrl}/releases/tag/${TAG}`,
    id: ID,
    node_id: nodeId('Release', ID),
    tag_name: TAG,
    target_commitish: 'main',
    name: 'Rocket 2.4.0: quieter engines',
    draft: false,
    immutable: false,
    prerelease: false,
    author: common.sender,
    created_at: minutesAgo(25),
    updated_at: minutesAgo(1),
    published_at: minutesAgo(1),
    assets: [],
    tarball_url: `${apiUrl}/tarball/${TAG}`,
    zipball_url: `${apiUrl}/zipball/${TAG}`,
    body: notes.replaceAll('\n', '\r\n'),
  };
}
