import type { Page } from '../../page.ts';
import { editing } from './edit.tsx';
import { list } from './list.tsx';
import { previewing } from './preview.tsx';
import { suggestions } from './suggestion.ts';
import { writing } from './write.tsx';

/**
 * The posts of an organization: to find, write, edit and publish them. What stands beside the posts in a path is
 * below `~`, which is in no id: an imported post may be called `new`.
 */
export const posts: readonly Page[] = [...list, ...writing, ...previewing, ...editing, ...suggestions];
