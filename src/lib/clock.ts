export { type Clock, systemClock } from './time.ts';
