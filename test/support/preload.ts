import { afterAll, afterEach, beforeEach } from 'bun:test';
import { databaseHooks } from './database.ts';

// Runs around all tests (bunfig.toml).

beforeEach(databaseHooks.beforeTest);
afterEach(databaseHooks.afterTest);
afterAll(databaseHooks.afterFile);
