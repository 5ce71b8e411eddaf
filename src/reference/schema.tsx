/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChild } from 'preact';

/** The displayed part of a JSON Schema. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  description?: string;
  examples?: unknown[];
}

/** A parameter, header or field. `about`: what it belongs to, for the search. */
export function Field({
  id,
  name,
  schema,
  note,
  about,
}: {
  id: string;
  name: string;
  schema: Schema;
  note?: string | undefined;
  about: string;
}) {
  return (
    <div id={id} data-find={about} data-title={name}>
      <dt>
        <a class="name" href={`#${id}`}>
          <code>{name}</code>
        </a>
        {note ? <small>{note}</small> : null}
      </dt>
      <dd>
        <TypeName schema={schema} />
        {bounds(schema)}
        {schema.description === undefined ? null : <p>{words(schema.description)}</p>}
      </dd>
    </div>
  );
}

export const nameOf = ($ref: string) => $ref.slice($ref.lastIndexOf('/') + 1);

/** The type in words. That of a shared schema links to it. */
export function TypeName({ schema }: { schema: Schema }) {
  const { $ref, enum: choices, anyOf, items, type } = schema;
  if ($ref !== undefined) return <a href={`#schema-${nameOf($ref)}`}>{nameOf($ref)}</a>;
  if (choices !== undefined) return <>{joined(choices.map(inCode), ' or ')}</>;
  if ('const' in schema) return inCode(JSON.stringify(schema.const));
  const types = anyOf?.map((each) => <TypeName schema={each} />);
  if (types !== undefined) return <>{joined(types, ' or ')}</>;
  if (items === undefined) return <>{[type ?? 'anything'].flat().join(' or ')}</>;
  return (
    <>
      list of <TypeName schema={items} />
    </>
  );
}

export const inCode = (text: unknown) => <code>{String(text)}</code>;

function joined(parts: readonly ComponentChild[], separator: string): ComponentChild[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
}

function bounds({ minimum = 0, maximum, default: byDefault }: Schema): string {
  const range =
    maximum !== undefined
      ? `, ${minimum} to ${maximum.toLocaleString('en')}`
      : minimum > 0
        ? `, at least ${minimum}`
        : '';
  return byDefault === undefined ? range : `${range}, default ${[byDefault].flat().join(', ')}`;
}

/** Renders `code` in back quotes, the only Markdown in descriptions. */
export function words(text: string): ComponentChild[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? inCode(part) : part));
}
