export { exactly, When } from './elements.tsx';
