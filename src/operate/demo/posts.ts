/** The provider of the demo's repository. */
export const DEMO_PROVIDER = 'github';

export const DEMO_REPOSITORY = 'acme/rocket';

/** Its public page. */
export const demoPage = {
  isPageOn: true,
  isFeedOn: true,
  description: 'What is new in Rocket, release by release.',
  accentColor: '#b3402a',
  links: [{ label: 'Source code', url: `https://github.com/${DEMO_REPOSITORY}` }],
};

/** A post of the demo, `daysAgo` days old on the day that the demo is made. Its tag is the Markdown. */
const release = (daysAgo: number, version: string, headline: string) => (markdown: TemplateStringsArray) => ({
  daysAgo,
  title: `Rocket ${version}: ${headline}`,
  markdown: textOf(markdown),
  contentType: 'changelog' as const,
  sourceMetadata: {
    author: 'ann',
    version,
    platform: DEMO_PROVIDER,
    repository: 'acme/rocket',
    url: `https://github.com/acme/rocket/releases/tag/v${version}`,
  },
});

const linkedin = (daysAgo: number, title: string) => (markdown: TemplateStringsArray) => ({
  daysAgo,
  title,
  markdown: textOf(markdown),
  contentType: 'linkedin_post' as const,
  sourceMetadata: { author: 'ben', platform: DEMO_PROVIDER, repository: 'acme/rocket' },
});

const textOf = ([markdown = '']: TemplateStringsArray) => `${markdown.trim()}\n`;

/** A year of a small team's posts, newest first. */
export const demoPosts = [
  release(37, '2.3.1', 'a steadier gauge')`
### Fixed
- The pressure gauge no longer jumps when a valve closes
- \`rocket abort\` responds at once, also while fueling
`,
  release(58, '2.3.0', 'fueling in half the time')`
### Added
- Parallel fueling: both tanks fill at once

### Changed
- A launch plan is checked before the crew is called

### Removed
- The \`--force\` flag of \`rocket launch\`, which nobody should have used
`,
  linkedin(58, 'Fueling in half the time')`
Both tanks now fill at once. What took 40 minutes takes 19.

Measured on twelve launches in September.
`,
  release(96, '2.2.0', 'plans you can read')`
### Added
- \`rocket plan\` prints a launch plan as a table:

| step | at |
|---|---|
| fuel | T-40 min |
| crew | T-15 min |
| launch | T |

### Fixed
- Times are shown in the pad's own time zone
`,
  release(151, '2.1.0', 'weather, before it matters')`
### Added
- A launch plan warns of wind above 12 m/s in its window

### Security
- Launch codes are no longer written to the log
`,
  release(203, '2.0.0', 'a new engine')`
The first release on the new engine. [The upgrade guide](https://github.com/acme/rocket/wiki/Upgrade) takes ten minutes.

### Changed
- **Breaking:** a pad is configured in \`pad.toml\`; \`pad.ini\` is no longer read
- Ignition is twice as fast
`,
  linkedin(203, 'Rocket 2 has lifted off')`
Two years of work, one new engine: Rocket 2 is out today.

- Ignition is twice as fast
- One small file configures a pad
- Ten minutes to upgrade

Thank you to the 41 people who tested it.
`,
  release(341, '1.9.2', 'the last of its line')`
### Fixed
- The last known leak in the old engine

There will be fixes for 1.x for another year.
`,
];
