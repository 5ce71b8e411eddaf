import { AppError } from '../../../lib/app-error.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { type Page, post, redirect } from '../../page.ts';
import { requireDelivery } from './find.ts';
import { showDelivery } from './one.tsx';

/** Runs a delivery again, and leads to the entry that this makes. */
export const replay: Page = post(
  '/dashboard/:organizationId/deliveries/:deliveryId/replay',
  'member',
  async (visit) => {
    const delivery = await requireDelivery(visit);
    try {
      const entry = await replayDelivery(visit.deps, delivery);
      return redirect(
        `${visit.base}/deliveries/${entry.id}`,
        'It was run again. What it made already is brought up to date, not doubled.',
      );
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      const isGone = error.status === 404;
      const gone = 'It cannot be run again: its integration is disconnected.';
      return showDelivery(visit, delivery, isGone ? new AppError(409, gone) : error);
    }
  },
);
