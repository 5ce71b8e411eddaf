/** GitHub's account object. */
export function sampleAccount(login: string, id: number): Record<string, unknown> {
  const api = `https://api.github.com/users/${login}`;
  return {
    login,
    id,
    node_id: nodeId('User', id),
    avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`,
    gravatar_id: '',
    url: api,
    html_url: `https://github.com/${login}`,
    followers_url: `${api}/followers`,
    following_url: `${api}/following{/other_user}`,
    gists_url: `${api}/gists{/gist_id}`,
    starred_url: `${api}/starred{/owner}{/repo}`,
    subscriptions_url: `${api}/subscriptions`,
    organizations_url: `${api}/orgs`,
    repos_url: `${api}/repos`,
    events_url: `${api}/events{/privacy}`,
    received_events_url: `${api}/received_events`,
    type: 'User',
    site_admin: false,
  };
}

/** GitHub's opaque ids: base64 of a kind and a number, in their older form. */
export function nodeId(kind: string, id: number): string {
  return btoa(`0${kind.length}:${kind}${id}`);
}
