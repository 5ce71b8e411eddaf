import { github } from './github/provider.ts';
import { linear } from './linear/provider.ts';
import type { Provider } from './provider.ts';

/** Every provider. Another one is a folder beside these and a line here. */
export const providers: readonly Provider[] = [github, linear];
