// The part of Astro's types that the loader uses. The published types refer to Astro's own; `bun run test:sites` checks
// the loader against them.

declare module 'astro/loaders' {
  interface Entry {
    id: string;
    data: Record<string, unknown>;
    body?: string;
    rendered?: unknown;
    digest?: number | string;
  }

  export interface LoaderContext {
    store: {
      get(id: string): Entry | undefined;
      set(entry: Entry): boolean;
      has(id: string): boolean;
      delete(id: string): void;
      keys(): string[];
    };
    meta: {
      get(key: string): string | undefined;
      set(key: string, value: string): void;
      delete(key: string): void;
    };
    logger: { info(message: string): void; warn(message: string): void };
    parseData<Data extends Record<string, unknown>>(entry: { id: string; data: Data }): Promise<Data>;
    renderMarkdown(markdown: string): Promise<unknown>;
    generateDigest(data: string): string;
  }

  export interface Loader {
    name: string;
    load(context: LoaderContext): Promise<void>;
    createSchema?(): Promise<{ schema: unknown; types: string }>;
  }
}

declare module 'astro/zod' {
  interface Schema {
    nullable(): Schema;
  }

  export const z: {
    object(shape: Record<string, Schema>): Schema;
    string(): Schema;
    unknown(): Schema;
    enum(values: string[]): Schema;
    record(key: Schema, value: Schema): Schema;
    coerce: { date(): Schema };
  };
}
