export { Status } from './elements.tsx';
