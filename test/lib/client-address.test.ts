import { expect, test } from 'bun:test';
import { clientAddress } from '../../src/http/request.ts';
import { addressGroup } from '../../src/lib/public-fetch.ts';

const HEADER = 'X-Forwarded-For';

test.each<[string, string | null, string | undefined, string | undefined, string]>([
  ['the peer, without a trusted proxy', '203.0.113.7', undefined, '198.51.100.1', '203.0.113.7'],
  ['the address that the proxy wrote', '10.0.0.2', HEADER, '198.51.100.1', '198.51.100.1'],
  ['the last one, after what the client sent', '10.0.0.2', HEADER, '1.1.1.1, 198.51.100.1', '198.51.100.1'],
  ['an IPv6 address in its short form', '10.0.0.2', HEADER, '2001:0DB8:0:0::1', '2001:db8::1'],
  ['IPv4 in IPv6 as IPv4', '::ffff:203.0.113.7', HEADER, undefined, '203.0.113.7'],
  ['IPv4 in IPv6 in hexadecimal as IPv4', '::ffff:cb00:7107', HEADER, undefined, '203.0.113.7'],
  ['an address without its zone', 'fe80::1%eth0', HEADER, undefined, 'fe80::1'],
  ['the peer, when the header is absent', '10.0.0.2', HEADER, undefined, '10.0.0.2'],
  ['the peer, when the header is empty', '10.0.0.2', HEADER, '', '10.0.0.2'],
  ['the peer, when the last value is no address', '10.0.0.2', HEADER, '198.51.100.1, x', '10.0.0.2'],
  ['the peer, when the value is a host with a port', '10.0.0.2', HEADER, '198.51.100.1:80', '10.0.0.2'],
  ['unknown, when there is nothing', null, HEADER, undefined, 'unknown'],
])('the client address is %s', (_, peer, header, value, expected) => {
  const headers = new Headers(value === undefined ? {} : { [HEADER]: value });
  expect(clientAddress(headers, peer, header)).toBe(expected);
});

test('a header that the client repeats counts only with its last value', () => {
  const headers = new Headers();
  headers.append(HEADER, '1.1.1.1');
  headers.append(HEADER, '198.51.100.1');
  expect(clientAddress(headers, '10.0.0.2', HEADER)).toBe('198.51.100.1');
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
])('%s shares limits with %s', (address, group) => {
  expect(addressGroup(address)).toBe(group);
});
