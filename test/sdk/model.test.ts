import { expect, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import type * as sdk from '../../sdk/client.ts';
import type * as server from '../../src/posts/model.ts';

// The types of the published client are those of the server. The type checker compares them, in both directions, down to
// optional properties.

type Same<A, B> =
  (<T>() => T extends Normal<A> ? 1 : 2) extends <T>() => T extends Normal<B> ? 1 : 2 ? true : false;
/** Spells out records, arrays and aliases, and drops `readonly` and `| undefined` of options. */
type Normal<T> = T extends readonly (infer Item)[]
  ? Normal<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Normal<T[Key]> }
    : T;
type WithoutUndefined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };
/** A filter of the client also takes a single value. */
type Lists<T> = {
  [Key in keyof T]: Key extends 'status' | 'contentType' ? Extract<T[Key], readonly unknown[]> : T[Key];
};
type ListResult = { posts: server.Post[]; pagination: server.Pagination };

const isSame: [
  post: Same<sdk.Post, server.Post>,
  pagination: Same<sdk.Pagination, server.Pagination>,
  list: Same<sdk.PostList, ListResult>,
  listFields: Same<keyof sdk.PostList, keyof Static<typeof server.PostList>>,
  query: Same<Lists<WithoutUndefined<sdk.ListQuery>>, Static<typeof server.ListQuery>>,
  filter: Same<Lists<WithoutUndefined<sdk.PostFilter>>, Static<typeof server.PostFilter>>,
] = [true, true, true, true, true, true];

const differs: [
  field: Same<Omit<sdk.Post, 'title'>, server.Post>,
  type: Same<Omit<sdk.Post, 'title'> & { title: number }, server.Post>,
  optional: Same<Partial<sdk.Post>, server.Post>,
  value: Same<Omit<sdk.Post, 'status'> & { status: 'draft' | 'published' | 'archived' }, server.Post>,
] = [false, false, false, false];

test('the client has the types of the server', () => {
  expect([...isSame, ...differs.map((each) => !each)]).not.toContain(false);
});
