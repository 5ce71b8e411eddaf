// Files that are imported as text.

declare module '*.sql' {
  const text: string;
  export default text;
}

declare module '*.txt' {
  const text: string;
  export default text;
}

declare module '*.css' {
  const text: string;
  export default text;
}

declare module '*.client.js' {
  const text: string;
  export default text;
}

declare module '@github/markdown-toolbar-element/dist/index.js' {
  const text: string;
  export default text;
}

declare module 'turndown/lib/turndown.browser.es.js' {
  const text: string;
  export default text;
}

declare module '@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js' {
  const text: string;
  export default text;
}

// Files that are imported as paths.

declare module '*.woff2' {
  const path: string;
  export default path;
}

declare module '@takumi-rs/wasm/takumi_wasm_bg.wasm' {
  const path: string;
  export default path;
}
