export { newMark, once } from './submission.ts';
