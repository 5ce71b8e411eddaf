import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDatabase } from '../../db/sqlite/client.ts';
import { AppError } from '../../src/lib/app-error.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { sweep } from '../../src/operate/jobs.ts';
import { createGuard } from '../../src/users/guard.ts';
import { MAX_THROTTLES } from '../../src/users/throttle-store.ts';
import { temporaryFolder } from '../support/cli.ts';
import { allRows } from '../support/rows.ts';
import { createTestApp } from '../support/test-app.ts';

/** The status of an attempt: 200, or that of its refusal. */
async function statusOf(attempt: Promise<void>): Promise<number> {
  try {
    await attempt;
    return 200;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.status;
  }
}
