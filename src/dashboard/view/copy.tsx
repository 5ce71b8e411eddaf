export { Copy } from './elements.tsx';
