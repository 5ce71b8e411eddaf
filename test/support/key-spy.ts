import { type KeyService, KeyServiceUnavailable } from '../../src/people/keys/store.ts';

/** Stands between an app and its key service. */
export interface KeySpy {
  /** Each key that the service was asked about. */
  readonly asked: string[];
  /** While true the service cannot be reached. */
  down: boolean;
  watch(service: KeyService): KeyService;
}

export function createKeySpy(): KeySpy {
  const spy: KeySpy = {
    asked: [],
    down: false,
    watch: (service) => ({
      ...service,
      async verifyKey(key, permission) {
        spy.asked.push(key);
        if (spy.down) throw new KeyServiceUnavailable(new Error('connection refused'));
        return service.verifyKey(key, permission);
      },
    }),
  };
  return spy;
}
