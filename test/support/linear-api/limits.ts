import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Clock } from '../../../src/lib/time.ts';

// linear.app/developers/rate-limiting: budgets of requests and of complexity, which refill within an hour.

/** Linear refuses a query that costs more, whatever is left of the budget. */
export const MAX_COMPLEXITY = 10_000;

const HOUR_MS = 3_600_000;

/** The budgets of all tokens together. A test may set what is left. */
export class LinearLimits {
  readonly requests = { limit: 2_500, remaining: 2_500 };
  readonly complexity = { limit: 250_000, remaining: 250_000 };

  constructor(readonly clock: Clock) {}

  /** False when nothing is left. */
  take(complexity: number): boolean {
    if (this.requests.remaining < 1 || this.complexity.remaining < complexity) return false;
    this.requests.remaining -= 1;
    this.complexity.remaining -= complexity;
    return true;
  }

  headers(complexity: number): Record<string, string> {
    const reset = String(this.clock.now().getTime() + HOUR_MS);
    const budgets = (['requests', 'complexity'] as const).flatMap((name) => [
      [`x-ratelimit-${name}-limit`, String(this[name].limit)],
      [`x-ratelimit-${name}-remaining`, String(this[name].remaining)],
      [`x-ratelimit-${name}-reset`, reset],
    ]);
    return { ...Object.fromEntries(budgets), 'x-complexity': String(complexity) };
  }
}

/** A tenth of a point for each field, a point for each object, times the sizes of the pages; 50 by default. */
export function complexityOf(
  schema: GraphQLSchema,
  { operation, selectionSet }: OperationDefinitionNode,
  variables: Record<string, unknown>,
): number {
  const costOf = (selections: SelectionSetNode, parent: GraphQLObjectType): number =>
    selections.selections
      .filter((each) => each.kind === 'Field')
      .reduce((sum, field) => sum + costOfField(field, parent), 0);

  function costOfField(field: FieldNode, parent: GraphQLObjectType): number {
    const type = getNamedType(parent.getFields()[field.name.value]?.type);
    if (!isObjectType(type) || field.selectionSet === undefined) return 0.1;
    const inside = costOf(field.selectionSet, type);
    return type.name.endsWith('Connection') ? inside * sizeOf(field) : 1 + inside;
  }

  function sizeOf(field: FieldNode): number {
    const given = field.arguments?.find(({ name }) => name.value === 'first')?.value;
    if (given?.kind === 'IntValue') return Number(given.value);
    return Number((given?.kind === 'Variable' && variables[given.name.value]) || 50);
  }

  const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType();
  return root == null ? 0 : Math.ceil(costOf(selectionSet, root));
}
