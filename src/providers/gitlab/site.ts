/** The site of an API such as `https://gitlab.com/api/v4`, or `https://HOST/gitlab/api/v4`. */
export function webOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/api\/v4\/?$/, '').replace(/\/$/, '');
}

/** Groups nest up to 20 deep. Nothing in a name may lead to another route. */
const NAME = /^(?=.{3,500}$)(?:(?!\.{1,2}\/)[\w.-]{1,255}\/){1,21}(?!\.{1,2}$)[\w.-]{1,255}$/;

/** True for the full path of a project, such as `group/name` or `group/subgroup/name`. */
export const isProjectName = (text: string): boolean => NAME.test(text);
