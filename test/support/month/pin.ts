import { draftsOf } from '../histories.ts';
import { OCTOKIT_REPOSITORY, octokitDeliveries } from '../octokit.ts';
import { pinsOf, writePins } from '../pins.ts';
import { monthOfDeliveries } from './month.ts';

// `bun test/support/month/pin.ts` writes test/fixtures/month and test/fixtures/octokit anew. Read what `git diff` shows
// as somebody who would publish it.

await writePins('month', pinsOf(await draftsOf(await monthOfDeliveries())));
await writePins('octokit', pinsOf(await draftsOf(await octokitDeliveries(), OCTOKIT_REPOSITORY)));
