import { expect, test } from 'bun:test';
import { imagePlace } from '../../../src/providers/forgejo/provider.ts';

const UUID = '3f1c0a9d-2b7e-4365-9aa0-c1de9f3b4472';
const OWN = 'https://acme.test/git/api/v1';

test.each([
  [`https://codeberg.org/attachments/${UUID}`, undefined, 'attachments'],
  ['https://codeberg.org/Acme/Rocket/raw/branch/main/shot.png', undefined, 'acme/rocket'],
  ['https://codeberg.org/acme/rocket/releases/download/v1/shot.png', undefined, 'acme/rocket'],
  [`https://acme.test/git/attachments/${UUID}`, OWN, 'attachments'],
  ['https://acme.test/git/acme/rocket/media/branch/main/shot.png', OWN, 'acme/rocket'],
])('the token goes with %p of the API %p as of %p', (url, apiUrl, place) => {
  expect(imagePlace(new URL(url), apiUrl)).toBe(place);
});

test.each([
  ['https://codeberg.org.evil.test/acme/rocket/x.png', undefined],
  ['http://codeberg.org/acme/rocket/x.png', undefined],
  ['https://codeberg.org:8443/acme/rocket/x.png', undefined],
  [`https://codeberg.page/attachments/${UUID}`, undefined],
  [`https://codeberg.org/attachments/${UUID}`, OWN],
  ['https://acme.test/acme/rocket/x.png', OWN],
])('%p is elsewhere for the API %p', (url, apiUrl) => {
  expect(imagePlace(new URL(url), apiUrl)).toBeNull();
});

test.each([
  'https://codeberg.org/acme/rocket/%2e%2e/%2e%2e/other/secret/raw/x.png',
  'https://codeberg.org/acme%2Frocket/x.png',
  'https://codeberg.org//acme/rocket/x.png',
  'https://codeberg.org/attachments/../acme/rocket/%2E%2E/x.png',
])('%p belongs to no repository, since the server may read another path', (url) => {
  expect(imagePlace(new URL(url), undefined)).not.toBe('acme/rocket');
});

test('an address that can be guessed is no attachment', () => {
  expect(imagePlace(new URL('https://codeberg.org/attachments/7'), undefined)).toBe('attachments/7');
});
