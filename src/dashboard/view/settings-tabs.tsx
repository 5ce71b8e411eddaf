/** @jsxRuntime automatic @jsxImportSource preact */

const tabs = [
  { path: 'settings', name: 'Organization' },
  { path: 'settings/keys', name: 'API keys' },
  { path: 'settings/members', name: 'Members' },
] as const;

/** The way between the pages of the settings. */
export function SettingsTabs({ base, current }: { base: string; current: (typeof tabs)[number]['path'] }) {
  return (
    <nav class="tabs" aria-label="Settings">
      {tabs.map(({ path, name }) => (
        <a class="tab" href={`${base}/${path}`} aria-current={path === current ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
