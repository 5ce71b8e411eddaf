export { letOthersIn } from './time.ts';
