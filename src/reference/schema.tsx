/** @jsxRuntime automatic @jsxImportSource preact */

/** The displayed part of a JSON Schema. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
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

/** A field or a parameter. */
export function Field({ name, schema, note }: { name: string; schema: Schema; note: string }) {
  return (
    <>
      <dt>
        <code>{name}</code>
        {note === '' ? null : <small>{note}</small>}
      </dt>
      <dd>
        <TypeName schema={schema} />
        {bounds(schema)}
        {schema.description === undefined ? null : <p>{words(schema.description)}</p>}
      </dd>
    </>
  );
}

/** A named type links to its schema. */
export function TypeName({ schema }: { schema: Schema }) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return <a href={`#schema-${name}`}>{name}</a>;
  }
  if (schema.enum !== undefined) {
    return (
      <>
        {schema.enum.map((choice, index) => (
          <span key={String(choice)}>
            {index > 0 ? ' or ' : ''}
            <code>{String(choice)}</code>
          </span>
        ))}
      </>
    );
  }
  if (schema.anyOf !== undefined) {
    return (
      <>
        {schema.anyOf.map((choice, index) => (
          <span key={JSON.stringify(choice)}>
            {index > 0 ? ' or ' : ''}
            <TypeName schema={choice} />
          </span>
        ))}
      </>
    );
  }
  if (schema.items !== undefined) {
    return (
      <>
        list of <TypeName schema={schema.items} />
      </>
    );
  }
  return <>{[schema.type ?? 'anything'].flat().join(' or ')}</>;
}

function bounds({ minimum, maximum, default: byDefault }: Schema): string {
  const parts: string[] = [];
  if (minimum !== undefined && maximum !== undefined)
    parts.push(`${minimum} to ${maximum.toLocaleString('en')}`);
  else if (minimum !== undefined && minimum > 0) parts.push(`at least ${minimum}`);
  if (byDefault !== undefined) parts.push(`default ${[byDefault].flat().join(', ')}`);
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}

/** Renders `code` in back quotes, the only Markdown in descriptions. */
export function words(text: string) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}
