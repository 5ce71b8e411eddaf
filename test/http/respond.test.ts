import { expect, test } from 'bun:test';
import { seeOther } from '../../src/http/respond.ts';

test.each([
  ['/dashboard/org_a?q=a%20b#c', '/dashboard/org_a?q=a%20b#c'],
  ['/dashboard/a\u0000b\r\nSet-Cookie: c=d', '/dashboard/a%00b%0D%0ASet-Cookie:%20c=d'],
  ['/dashboard/日本 é\u007f', '/dashboard/%E6%97%A5%E6%9C%AC%20%C3%A9%7F'],
  ['/dashboard/\ud800', '/dashboard/%EF%BF%BD'],
])('a redirect to %j is a valid header', (path, location) => {
  const response = seeOther(path, []);
  expect([response.status, response.headers.get('location')]).toEqual([303, location]);
  expect(response.headers.getSetCookie()).toEqual([]);
});
