import { Type } from '@sinclair/typebox';
import { defineEvent } from '../../provider.ts';

/** GitHub sends a ping when a webhook is set up, and when somebody asks for one. */
export const ping = defineEvent(Type.Object({}), () => ({
  outcome: 'ping',
  title: 'Ping: the webhook is configured',
}));
