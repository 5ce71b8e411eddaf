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

/** A release that was just published. */
export function release({ pageUrl, apiUrl, minutesAgo, common }: SampleContext): Record<string, unknown> {
  return {
    action: 'published',
    release: {
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
      body: NOTES.replaceAll('\n', '\r\n'),
    },
    ...common,
  };
}
