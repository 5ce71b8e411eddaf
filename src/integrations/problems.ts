import { AppError } from '../lib/app-error.ts';
import { type ProblemKind, ProviderProblem } from '../providers/api.ts';
import { describeOutcome, describeProblem, type Outcome, type Problem } from './words.ts';

const BAD_REQUESTS: readonly string[] = ['invalid_token', 'invalid_key', 'no_places', 'too_many_places'];
const NOT_FOUND: readonly string[] = ['integration_not_found', 'unknown_place', 'delivery_not_missed'];

/** A refused change: 404, 400, or 409. `problem` has the data that the command line and the dashboard advise by. */
export class IntegrationProblem extends AppError {
  constructor(readonly problem: Problem) {
    const { code, ...details } = problem;
    const status = NOT_FOUND.includes(code) ? 404 : BAD_REQUESTS.includes(code) ? 400 : 409;
    super(status, describeProblem(problem), { code, details });
  }
}

/** A change that the provider refused or failed, and the state that it left. */
export class ChangeFailed extends ProviderProblem {
  constructor(
    readonly problem: ProviderProblem,
    readonly outcome: Outcome,
  ) {
    const sentence = problem.message.endsWith('.') ? problem.message : `${problem.message}.`;
    super(problem.kind, `${sentence} ${describeOutcome(outcome)}`, {
      cause: problem.cause,
      retryAt: problem.retryAt ?? undefined,
    });
  }
}

/** `ChangeFailed` for a provider's problem; any other error unchanged. */
export function changeFailed(error: unknown, outcome: Outcome): unknown {
  return error instanceof ProviderProblem ? new ChangeFailed(error, outcome) : error;
}

/** True if it is a provider's problem, of one of these kinds if any are given. */
export function isProblem(error: unknown, ...kinds: ProblemKind[]): error is ProviderProblem {
  return error instanceof ProviderProblem && (kinds.length === 0 || kinds.includes(error.kind));
}
