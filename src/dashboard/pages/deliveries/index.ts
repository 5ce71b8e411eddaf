import type { Page } from '../../page.ts';
import { deliveryLog } from './list.tsx';
import { delivery } from './one.tsx';
import { replay } from './replay.ts';
import { replayMany } from './replay-many.tsx';

export const deliveries: readonly Page[] = [deliveryLog, delivery, replay, replayMany];
