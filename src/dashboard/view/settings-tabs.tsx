/** @jsxRuntime automatic @jsxImportSource preact */

const tabs = [
  { path: 'settings', name: 'Organization', isForOwners: false },
  { path: 'settings/keys', name: 'API keys', isForOwners: false },
  { path: 'settings/members', name: 'Members', isForOwners: false },
  { path: 'settings/audit', name: 'Audit log', isForOwners: true },
] as const;

/** The way between the pages of the settings. */
export function SettingsTabs({
  base,
  isOwner,
  current,
}: {
  base: string;
  isOwner: boolean;
  current: (typeof tabs)[number]['path'];
}) {
  const shown = tabs.filter(({ isForOwners }) => isOwner || !isForOwners);
  return (
    <nav class="tabs" aria-label="Settings">
      {shown.map(({ path, name }) => (
        <a class="tab" href={`${base}/${path}`} aria-current={path === current ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
