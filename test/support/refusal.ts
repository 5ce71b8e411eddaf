import { AppError } from '../../src/lib/app-error.ts';

/** The error that something is refused with. Fails when it succeeds. */
export async function rejection(call: Promise<unknown>): Promise<Error> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('It was not refused');
}

/** The `AppError` of a refusal. Fails when the work succeeds or fails in another way. */
export async function refusalOf(call: Promise<unknown>): Promise<{ status: number; message: string }> {
  const failure = await call.then(
    () => new Error('It was not refused'),
    (error: unknown) => error,
  );
  if (!(failure instanceof AppError)) throw failure;
  return { status: failure.status, message: failure.message };
}
