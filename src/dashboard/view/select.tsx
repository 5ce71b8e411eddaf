export { type Option, Select } from './elements.tsx';
