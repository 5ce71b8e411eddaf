import { expect, test } from 'bun:test';
import { kindsFor } from '../../src/drafting/triggers/model.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { replayDelivery, sendDelivery } from '../../src/intake/receiver/send.ts';
import { getDelivery } from '../../src/integrations/deliveries/log-store.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { sampleEvents, sampleFor } from '../../src/providers/index.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { type ByHand, type Subject, startByHand } from '../support/provider-kit.ts';
import { PUBLIC_URL } from '../support/test-app.ts';

// Results of deliveries that were taken: samples, drafts, replays, and findings of the doctor.

export function replayTests(subject: Subject): void {
  const { provider } = subject;

  /** Sends a sample as `tidings send` does. */
  async function sendSample(
    { app, deps, connected, integration }: ByHand,
    event: string,
    { action, hasBadSignature = false }: { action?: string | undefined; hasBadSignature?: boolean } = {},
  ) {
    app.clock.advance(60_000);
    const payload = sampleFor(await integration(), event, { now: app.clock.now(), action });
    const sent = await sendDelivery(deps, {
      ...{ event, hasBadSignature, body: JSON.stringify(payload), deliveryId: crypto.randomUUID() },
      integrationId: connected.integrationId,
      baseUrl: PUBLIC_URL,
    });
    return sent.status;
  }

  const triggerOf = ({ app, connected: { integrationId } }: ByHand, event: string) =>
    createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });

  /** The kind of trigger that the example is for. */
  function exampleKind(): string {
    const { triggerEvents, exampleEvent } = provider;
    const kind = kindsFor(provider.id).find(({ event }) => triggerEvents[event]?.includes(exampleEvent));
    if (kind === undefined) throw new Error(`no trigger of ${provider.name} needs ${exampleEvent}`);
    return kind.event;
  }

  test.each(sampleEvents(provider.id))('the sample %s is accepted', async (event) => {
    const it = await startByHand(subject);
    expect(await sendSample(it, event)).toBe(200);
    expect(await logOf(it.app)).toMatchObject([
      { status: 'processed', integrationType: provider.id, payload: { event } },
    ]);
  });

  test.each(kindsFor(provider.id).map(({ event }) => event))(
    'samples become a draft of the trigger %s',
    async (event) => {
      const it = await startByHand(subject);
      await triggerOf(it, event);
      for (const name of provider.triggerEvents[event] ?? []) expect(await sendSample(it, name)).toBe(200);
      await runAll(it.app);
      const [post] = await postsOf(it.app);
      expect(post).toMatchObject({
        status: 'draft',
        contentType: 'changelog',
        sourceMetadata: { platform: provider.id },
      });
      expect(post?.markdown.length).toBeGreaterThan(20);
    },
  );

  const edit = Object.keys(provider.samples).find((name) => name.startsWith(`${provider.exampleEvent} `));

  test.skipIf(edit === undefined)('an edit changes the draft, and makes none of its own', async () => {
    const it = await startByHand(subject);
    await triggerOf(it, exampleKind());
    const action = edit?.split(' ')[1];
    expect(await sendSample(it, provider.exampleEvent)).toBe(200);
    await runAll(it.app);
    const [draft] = await postsOf(it.app);
    expect(await sendSample(it, provider.exampleEvent, { action })).toBe(200);
    await runAll(it.app);
    const [edited, ...others] = await postsOf(it.app);
    expect(others).toEqual([]);
    expect(edited?.id).toBe(draft?.id ?? '');
    expect(edited?.markdown).not.toBe(draft?.markdown ?? '');
  });

  test('a delivery is replayed from the log, and makes its draft once', async () => {
    const it = await startByHand(subject);
    expect(await sendSample(it, provider.exampleEvent)).toBe(200);
    await triggerOf(it, exampleKind());
    await runAll(it.app);
    expect(await postsOf(it.app)).toEqual([]);
    const [entry] = await logOf(it.app);
    const delivery = await it.app.db.read((tx) => getDelivery(tx, entry?.id ?? ''));
    for (const _ of [1, 2]) {
      it.app.clock.advance(60_000);
      expect(await replayDelivery(it.app.deps, delivery)).toMatchObject({ replayOf: delivery.id });
      await runAll(it.app);
      expect(await postsOf(it.app)).toHaveLength(1);
    }
  });

  test('a replay makes the same draft as the delivery', async () => {
    const draft = async (isReplayed: boolean) => {
      const it = await startByHand(subject);
      if (!isReplayed) await triggerOf(it, exampleKind());
      await sendSample(it, provider.exampleEvent);
      if (isReplayed) {
        await triggerOf(it, exampleKind());
        const [entry] = await logOf(it.app);
        await replayDelivery(it.app.deps, await it.app.db.read((tx) => getDelivery(tx, entry?.id ?? '')));
      }
      await runAll(it.app);
      const [post] = await postsOf(it.app);
      return [post?.title, post?.markdown, post?.createdAt];
    };
    expect(await draft(true)).toEqual(await draft(false));
  });

  test('the doctor tells a webhook that was set up by hand by its deliveries', async () => {
    const it = await startByHand(subject);
    const diagnosis = async () => {
      const { ok, findings } = await diagnose(it.deps, it.connected.integrationId);
      return { ok, codes: findings.map(({ code }) => code) };
    };
    const hook = provider.api === null ? 'manual_hook' : 'token_missing';
    const known = ['enabled', 'reachable', hook] as const;
    expect(await diagnosis()).toEqual({ ok: true, codes: [...known, 'secret_unproven'] });
    await sendSample(it, provider.exampleEvent);
    expect(await diagnosis()).toEqual({ ok: true, codes: [...known, 'secret_accepted'] });
    await sendSample(it, provider.exampleEvent, { hasBadSignature: true });
    expect(await diagnosis()).toEqual({ ok: false, codes: [...known, 'secret_refused'] });
  });
}
