// Entries as changelogs of known projects have them, each with its sources and five rewrites by hand: for users, terse, in the
// past tense, friendly, and formal. A person who knows the rules of the prompt wrote them, without looking at the checker.

export interface Honest {
  original: string;
  sources: string[];
  isBreaking?: true;
  isSecurity?: true;
  isFix?: true;
  rewrites: [users: string, terse: string, past: string, friendly: string, formal: string];
}

export const honest: Honest[] = [
  {
    original: 'Add `--filter` to `bun test` to run only matching tests',
    sources: ['feat(test): add --filter to bun test', 'Runs only the tests whose names match the pattern.'],
    rewrites: [
      'You can now run only the matching tests with `bun test --filter`',
      '`bun test --filter` runs only matching tests',
      'Added `--filter` to `bun test`, which runs only the tests whose names match a pattern',
      'Want to run just a few tests? `bun test` now has `--filter`',
      'The command `bun test` supports `--filter`, which runs only tests whose names match the pattern',
    ],
  },
  {
    original: 'Fix crash when the config file is empty',
    sources: ['fix(cli): crash when the config file is empty', 'Treat an empty file as {}.'],
    isFix: true,
    rewrites: [
      'The app no longer crashes when your config file is empty',
      'Fix a crash on an empty config file',
      'Fixed a crash that happened when the config file was empty',
      'An empty config file no longer causes a crash',
      'Fixes a crash that occurred with an empty config file',
    ],
  },
  {
    original: 'Speed up cold starts by 40% by loading plugins lazily',
    sources: ['perf: load plugins lazily', 'Cold starts are 40% faster on our benchmark.'],
    rewrites: [
      'Cold starts are now 40% faster, because plugins load lazily',
      '40% faster cold starts through lazily loaded plugins',
      'Made cold starts 40% faster by loading plugins lazily',
      'Plugins now load lazily, so cold starts are 40% faster',
      'Cold starts are 40% faster, since plugins are loaded lazily',
    ],
  },
  {
    original: 'Support PostgreSQL 17',
    sources: ['feat(db): support PostgreSQL 17', 'CI runs on 13 to 17 now.'],
    rewrites: [
      'You can now use PostgreSQL 17',
      'PostgreSQL 17 support',
      'Added support for PostgreSQL 17',
      'PostgreSQL 17 is now supported',
      'Introduces support for PostgreSQL 17',
    ],
  },
  {
    original: 'Remove the deprecated `legacyHeaders` option',
    sources: ['feat!: remove legacyHeaders', 'Use `standardHeaders` instead.'],
    isBreaking: true,
    rewrites: [
      'The deprecated option `legacyHeaders` has been removed. Use `standardHeaders` instead',
      'Remove the deprecated option `legacyHeaders`',
      'Removed the deprecated `legacyHeaders` option. Use `standardHeaders` instead',
      'We removed the deprecated `legacyHeaders` option, so please use `standardHeaders`',
      'The deprecated `legacyHeaders` option is removed',
    ],
  },
  {
    original: 'Allow uploading images of up to 25 MB',
    sources: ['feat(media): raise upload limit', 'Images may have up to 25 MB.'],
    rewrites: [
      'You can now upload images of up to 25 MB',
      'Upload images of up to 25 MB',
      'Raised the limit for uploaded images to up to 25 MB',
      'Your images can now have up to 25 MB',
      'Uploaded images may have up to 25 MB',
    ],
  },
  {
    original: 'Fix time zone of scheduled reports during daylight saving',
    sources: [
      'fix(reports): wrong hour in DST',
      'Reports were sent an hour late during daylight saving time.',
    ],
    isFix: true,
    rewrites: [
      'Fixes the time zone of your scheduled reports during daylight saving',
      'Fix the time zone of scheduled reports in daylight saving time',
      'Fixed scheduled reports that were sent an hour late during daylight saving time',
      'We fixed scheduled reports, which were sent an hour late during daylight saving time',
      'Corrects the time zone that scheduled reports use during daylight saving time',
    ],
  },
  {
    original: 'Show the author and the date of each revision',
    sources: ['feat(history): show author and date of a revision', 'ENG-412 Show who changed what'],
    rewrites: [
      'You can now see the author and the date of each revision',
      'Each revision shows its author and date',
      'Added the author and the date to each revision',
      'Each revision now shows who changed what, and the date',
      'The history displays the author and the date of each revision',
    ],
  },
  {
    original: 'Update dependency `undici` from 6.19.2 to 6.21.1',
    sources: ['chore(deps): update dependency undici from 6.19.2 to 6.21.1'],
    rewrites: [
      'The dependency `undici` is updated from 6.19.2 to 6.21.1',
      'Update `undici` to 6.21.1',
      'Updated the dependency `undici` from 6.19.2 to 6.21.1',
      'We updated `undici` from 6.19.2 to 6.21.1',
      'Updates the `undici` dependency to version 6.21.1',
    ],
  },
  {
    original: 'Prevent SQL injection through the `sort` parameter (CVE-2024-31205)',
    sources: [
      'fix(api)!: escape sort parameter',
      'The `sort` parameter of the list endpoint was not escaped, so SQL injection was possible. CVE-2024-31205.',
    ],
    isSecurity: true,
    isFix: true,
    rewrites: [
      'Prevents SQL injection through the `sort` parameter of the list endpoint (CVE-2024-31205)',
      'Prevent SQL injection through `sort` (CVE-2024-31205)',
      'Fixed an SQL injection that was possible through the `sort` parameter (CVE-2024-31205)',
      'We fixed an SQL injection through the `sort` parameter, CVE-2024-31205',
      'SQL injection through the `sort` parameter is prevented (CVE-2024-31205)',
    ],
  },
  {
    original: 'Deprecate `createServer()` in favor of `serve()`',
    sources: [
      'feat: deprecate createServer() in favor of serve()',
      'It will be removed in the next major version.',
    ],
    rewrites: [
      'The function `createServer()` is now deprecated. Please use `serve()`',
      'Deprecate `createServer()`, use `serve()`',
      'Deprecated `createServer()` in favor of `serve()`',
      'We deprecated `createServer()` in favor of `serve()`',
      'Deprecates `createServer()`, which will be removed in the next major version, in favor of `serve()`',
    ],
  },
  {
    original: 'Fix memory leak in long-running watchers',
    sources: ['fix(watch): leak of file handles', 'File handles of deleted folders were never closed.'],
    isFix: true,
    rewrites: [
      'Fixes a memory leak in long-running watchers',
      'Fix a memory leak in watchers',
      'Fixed a memory leak that affected long-running watchers',
      'Long-running watchers no longer leak memory',
      'Resolves a memory leak in long-running watchers',
    ],
  },
  {
    original: 'Use the system theme by default',
    sources: [
      'feat(ui): follow prefers-color-scheme',
      'Use the system theme until the user picks light or dark.',
    ],
    rewrites: [
      'Your system theme is now used by default',
      'System theme by default',
      'Changed the default theme to the system theme',
      'The system theme is now the default, until you pick light or dark',
      'The system theme is used until the user picks light or dark',
    ],
  },
  {
    original: 'Retry failed webhooks 5 times over 24 hours',
    sources: ['feat(hooks): retry 5 times over 24 hours', 'Exponential backoff.'],
    rewrites: [
      'Failed webhooks are now retried 5 times over 24 hours',
      'Failed webhooks retry 5 times over 24 hours',
      'Added retries: failed webhooks are sent 5 times over 24 hours',
      'If your webhook fails, we now retry it 5 times over 24 hours',
      'Failed webhooks are retried 5 times over 24 hours with exponential backoff',
    ],
  },
  {
    original: 'Require Node.js 20 or newer',
    sources: ['build!: drop Node.js 18', 'Node.js 18 is end-of-life. Require Node.js 20 or newer.'],
    isBreaking: true,
    rewrites: [
      'You now need Node.js 20 or newer',
      'Require Node.js 20 or newer',
      'Node.js 20 or newer is now required, since Node.js 18 is end-of-life',
      'Please use Node.js 20 or newer, which is now required',
      'Node.js 20 or newer is required',
    ],
  },
  {
    original: 'Fix `Content-Type` of JSON feeds',
    sources: ['fix(feeds): content type of JSON feeds', 'Was text/plain, is application/feed+json.'],
    isFix: true,
    rewrites: [
      'JSON feeds now have the correct `Content-Type`, application/feed+json',
      'Correct the `Content-Type` of JSON feeds',
      'Fixed the `Content-Type` of JSON feeds, which is application/feed+json',
      'We fixed the `Content-Type` header of your JSON feeds',
      'Corrects the `Content-Type` of JSON feeds',
    ],
  },
  {
    original: 'Add keyboard shortcuts for the editor: Ctrl+B, Ctrl+I and Ctrl+K',
    sources: ['feat(editor): keyboard shortcuts', 'Ctrl+B bold, Ctrl+I italic, Ctrl+K link'],
    rewrites: [
      'You can now use keyboard shortcuts in the editor: Ctrl+B, Ctrl+I and Ctrl+K',
      'Editor shortcuts: Ctrl+B, Ctrl+I and Ctrl+K',
      'Added the keyboard shortcuts Ctrl+B, Ctrl+I and Ctrl+K to the editor',
      'The editor now has keyboard shortcuts for bold (Ctrl+B), italic (Ctrl+I) and link (Ctrl+K)',
      'The editor supports the keyboard shortcuts Ctrl+B, Ctrl+I and Ctrl+K',
    ],
  },
  {
    original: 'Do not send emails to disabled accounts',
    sources: [
      'fix(mail): do not send emails to disabled accounts',
      'ENG-77 Disabled people get the weekly email',
    ],
    isFix: true,
    rewrites: [
      'Disabled accounts do not get emails',
      'No emails to disabled accounts',
      'Emails were not meant for disabled accounts. This is fixed',
      'We do not send emails to disabled accounts anymore',
      'Emails are not sent to disabled accounts',
    ],
  },
  {
    original: 'Rename `maxAge` to `maxAgeMs`',
    sources: ['refactor!: rename maxAge to maxAgeMs', 'The value was always in milliseconds.'],
    isBreaking: true,
    rewrites: [
      '`maxAge` is now called `maxAgeMs`',
      'Rename `maxAge` to `maxAgeMs`',
      'Renamed `maxAge` to `maxAgeMs`',
      'We renamed `maxAge` to `maxAgeMs`, because the value is in milliseconds',
      'The option `maxAge` is renamed to `maxAgeMs`',
    ],
  },
  {
    original: 'Reduce memory use of imports from 900 MB to 60 MB',
    sources: ['perf(import): stream rows', 'An import of 1 million rows takes 60 MB, before 900 MB.'],
    rewrites: [
      'Imports now use less memory: 60 MB, down from 900 MB',
      'Reduce memory use of imports from 900 MB to 60 MB',
      'Reduced the memory that imports use from 900 MB to 60 MB',
      'Imports are lighter: memory use went from 900 MB to 60 MB',
      'The memory use of imports is reduced from 900 MB to 60 MB',
    ],
  },
  {
    original: 'Translate the interface to German and Japanese',
    sources: ['feat(i18n): German and Japanese', 'Thanks to the translators!'],
    rewrites: [
      'You can now use the interface in German and Japanese',
      'Interface in German and Japanese',
      'Translated the interface to German and Japanese',
      'The interface now speaks German and Japanese',
      'The interface is available in German and Japanese',
    ],
  },
  {
    original: 'Fix search that ignored umlauts such as ä and ö',
    sources: ['fix(search): fold umlauts', 'A search for "Größe" found nothing.'],
    isFix: true,
    rewrites: [
      'Search no longer ignores umlauts such as ä and ö',
      'Fix search with umlauts such as ä and ö',
      'Fixed the search, which ignored umlauts such as ä and ö',
      'We fixed a problem where search ignored umlauts such as ä and ö',
      'Corrects the search, which ignored umlauts such as ä and ö',
    ],
  },
  {
    original: 'Cache compiled templates',
    sources: ['perf(render): cache compiled templates', 'Rendering a page takes 3 ms, before 11 ms.'],
    rewrites: [
      'Pages render faster, because compiled templates are cached',
      'Compiled templates are cached',
      'Compiled templates are now cached, so rendering a page takes 3 ms',
      'We now cache compiled templates, so your pages render faster',
      'Compiled templates are kept in a cache',
    ],
  },
  {
    original: 'Add an audit log for changes of roles and keys',
    sources: ['feat(audit): log changes of roles and keys', 'Only owners can see it. Kept for 30 days.'],
    rewrites: [
      'Owners can now see changes of roles and keys in an audit log',
      'Audit log for changes of roles and keys',
      'Added an audit log that keeps changes of roles and keys for 30 days',
      'There is a new audit log, which shows changes of roles and keys',
      'An audit log records changes of roles and keys',
    ],
  },
  {
    original: 'Fix duplicate entries when two workers start at the same time',
    sources: ['fix(queue): race at start', 'Two workers could take the same job. Take a lock first.'],
    isFix: true,
    rewrites: [
      'Entries are no longer duplicated when two workers start at the same time',
      'Fix duplicate entries when two workers start together',
      'Fixed duplicate entries that appeared when two workers started at the same time',
      'We fixed duplicate entries, which could happen when two workers start at the same time',
      'Prevents duplicate entries when two workers start at the same time',
    ],
  },
  {
    original: 'Sign release artifacts with Sigstore',
    sources: ['ci: sign release artifacts with Sigstore', 'Verify with `cosign verify-blob`.'],
    isSecurity: true,
    rewrites: [
      'Release artifacts are now signed with Sigstore, so you can verify them with `cosign verify-blob`',
      'Release artifacts signed with Sigstore',
      'Release artifacts have been signed with Sigstore since this release',
      'We now sign all release artifacts with Sigstore',
      'Release artifacts are signed with Sigstore',
    ],
  },
  {
    original: 'Change the default port from 8080 to 3000',
    sources: ['feat!: default port 3000', 'Set PORT=8080 to keep the old port.'],
    isBreaking: true,
    rewrites: [
      'The default port changes from 8080 to 3000. Set PORT=8080 to keep the old port',
      'Change default port from 8080 to 3000',
      'Changed the default port from 8080 to 3000',
      'We changed the default port from 8080 to 3000, and PORT=8080 keeps the old port',
      'The default port is changed from 8080 to 3000',
    ],
  },
  {
    original: 'Fix flickering of tooltips in Safari',
    sources: ['fix(ui): flickering tooltips in Safari', 'WebKit fires pointerleave twice.'],
    isFix: true,
    rewrites: [
      'Tooltips no longer flicker in Safari',
      'Fix flickering tooltips in Safari',
      'Fixed tooltips that flickered in Safari',
      'We fixed the flickering tooltips that you may have seen in Safari',
      'Resolves the flickering of tooltips in Safari',
    ],
  },
  {
    original: 'Add `HEAD` support to the static file handler',
    sources: ['feat(static): answer HEAD', 'Returns the headers of GET without a body.'],
    rewrites: [
      'The static file handler now answers `HEAD`',
      'Static file handler supports `HEAD`',
      'Added support for `HEAD` to the static file handler',
      'The handler for static files now supports `HEAD` too',
      'The static file handler supports `HEAD` and returns the headers of GET',
    ],
  },
  {
    original: 'Limit login attempts to 10 per minute and address',
    sources: ['feat(auth): limit login attempts', 'At most 10 per minute and address; then 429.'],
    isSecurity: true,
    rewrites: [
      'Login attempts are now limited to 10 per minute and address',
      'Limit login attempts to 10 per minute and address',
      'Limited the login attempts to 10 per minute and address',
      'To keep your account safe, login attempts are limited to 10 per minute and address',
      'Login attempts are limited to 10 per minute and address',
    ],
  },
  {
    original: 'Keep unsaved text when the session expires',
    sources: [
      'fix(editor): keep text when the session expires',
      'The text is stored in the browser until the next save.',
    ],
    isFix: true,
    rewrites: [
      'Your unsaved text is now kept when your session expires',
      'Unsaved text stays when the session expires',
      'Unsaved text is kept in the browser when the session expires',
      'When your session expires, the editor now keeps your unsaved text',
      'Unsaved text is stored in the browser when the session expires',
    ],
  },
  {
    original: 'Add dark mode to the documentation',
    sources: ['docs: dark mode', 'Follows the setting of the system.'],
    rewrites: [
      'You can now read the documentation in dark mode',
      'Dark mode for the documentation',
      'Added a dark mode to the documentation',
      'The documentation now has a dark mode, which follows the setting of your system',
      'The documentation offers a dark mode',
    ],
  },
  {
    original: 'Fix exports larger than 2 GB',
    sources: [
      'fix(export): use 64-bit offsets',
      'Exports larger than 2 GB failed with "offset out of range".',
    ],
    isFix: true,
    rewrites: [
      'Fixes exports that are larger than 2 GB',
      'Fix exports larger than 2 GB',
      'Fixed exports larger than 2 GB, which failed with "offset out of range"',
      'We fixed a problem with exports larger than 2 GB',
      'Resolves a failure of exports that are larger than 2 GB',
    ],
  },
  {
    original: 'Let owners transfer a project to another team',
    sources: [
      'feat(projects): transfer',
      'Owners can transfer a project to another team. Links keep working.',
    ],
    rewrites: [
      'As an owner, you can now transfer a project to another team',
      'Owners can transfer projects to another team',
      'Added a way for owners to transfer a project to another team',
      'Owners can now transfer a project to another team, and links keep working',
      'Projects can be transferred to another team by their owners',
    ],
  },
  {
    original: 'Improve error message for invalid YAML',
    sources: ['feat(cli): better error for invalid YAML', 'Names the line and the column.'],
    rewrites: [
      'If your YAML is invalid, the error message now names the line and the column',
      'Better error message for invalid YAML',
      'Improved the error message for invalid YAML, which now names the line and column',
      'The error message for invalid YAML is now more helpful',
      'The error message for invalid YAML includes the line and the column',
    ],
  },
  {
    original: 'Upgrade the bundled SQLite to 3.46.1',
    sources: ['build: SQLite 3.46.1'],
    rewrites: [
      'The bundled SQLite is now 3.46.1',
      'SQLite 3.46.1',
      'Upgraded the bundled SQLite to version 3.46.1',
      'We upgraded the bundled SQLite to 3.46.1',
      'The bundled version of SQLite is upgraded to 3.46.1',
    ],
  },
  {
    original: 'Stop logging request bodies',
    sources: ['fix(log): stop logging request bodies', 'They may contain personal data.'],
    isFix: true,
    isSecurity: true,
    rewrites: [
      'Request bodies are no longer logged',
      'Stop logging request bodies',
      'Stopped logging request bodies, which may contain personal data',
      'We stopped logging request bodies, because they may contain personal data',
      'Request bodies, which may contain personal data, are no longer logged',
    ],
  },
  {
    original: 'Paginate `GET /v1/projects` with 50 items by default',
    sources: [
      'feat(api)!: paginate projects',
      '`GET /v1/projects` returned everything. Now 50 items by default, at most 200.',
    ],
    isBreaking: true,
    rewrites: [
      '`GET /v1/projects` is now paginated, with 50 items by default',
      'Paginate `GET /v1/projects`, 50 items by default',
      '`GET /v1/projects` is paginated: it returns 50 items by default and at most 200',
      'We now paginate `GET /v1/projects`, which returns 50 items by default',
      'The endpoint `GET /v1/projects` is paginated with 50 items by default',
    ],
  },
  {
    original: 'Fix links in emails that opened the wrong workspace',
    sources: [
      'fix(mail): links open the wrong workspace',
      'People with several workspaces came to the last used one.',
    ],
    isFix: true,
    rewrites: [
      'Links in emails no longer open the wrong workspace',
      'Fix links in emails that open the wrong workspace',
      'Fixed links in emails that opened the wrong workspace',
      'We fixed links in your emails, which could open the wrong workspace',
      'Corrects links in emails, which opened the wrong workspace for people with several workspaces',
    ],
  },
  {
    original: 'Add `Retry-After` to 429 and 503 responses',
    sources: ['feat(api): send Retry-After', 'On 429 and 503, in seconds.'],
    rewrites: [
      'Responses with 429 and 503 now tell you when to retry, in `Retry-After`',
      '`Retry-After` on 429 and 503 responses',
      'Added `Retry-After` to responses with 429 and 503',
      'The API now sends `Retry-After` with 429 and 503 responses',
      'Responses of 429 and 503 include `Retry-After`, in seconds',
    ],
  },
];
