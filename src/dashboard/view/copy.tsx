export { Copy, ToCopy } from './elements.tsx';
