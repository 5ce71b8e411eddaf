/** The name of the field of a token. No page shows its value again. */
export const TOKEN_FIELD = 'apiToken';
