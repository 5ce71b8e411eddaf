import { requireValid } from '../lib/validation.ts';
import { Password } from './model.ts';

/** Throws `AppError` 400 when the password is too short or too long. */
export async function requireGoodPassword(
  password: string,
  _about: { email: string; organizations: readonly string[] },
): Promise<void> {
  requireValid(Password, { password });
}
