/** The ids of all providers. A provider loads only when it is used, its id at the start. */
export const providerIds = ['github', 'gitlab', 'linear', 'forgejo'] as const;

export type IntegrationType = (typeof providerIds)[number];
