import { unmarshall } from '@aws-sdk/util-dynamodb';
import { routes } from '../../routes.ts';
import { roundsOf } from '../support/costs/rounds.ts';
import { type RecordedInvocation, type Recording, recordAll } from './recording.ts';
import { startReplay } from './replay-server.ts';
import { type Bundles, buildVariants, type Variant } from './variants.ts';

/** Every function in every variant, with the networks that it can be measured on. */
export interface Functions {
  readonly recordings: readonly Recording[];
  readonly bundles: Bundles;
  /** The environment of an instance whose AWS calls have recorded responses. */
  replayEnvironment(recording: Recording): Record<string, string>;
  /** The environment of an instance whose AWS calls reach the engine. */
  engineEnvironment(recording: Recording): Record<string, string>;
  stop(): Promise<void>;
}

/**
 * Builds and records all functions. `assembly` is the cloud assembly, `folder` a new folder for
 * bundles.
 */
export async function openFunctions(assembly: string, folder: string): Promise<Functions> {
  const bundles = await buildVariants(folder);
  const recorded = await recordAll(assembly, bundles);
  const { recordings, environmentOf } = recorded;
  const replay = await startReplay(
    recordings.map(({ first, second }) => [first.calls, second.calls]),
  );
  return {
    recordings,
    bundles,
    replayEnvironment: (recording) => ({
      ...environmentOf(recording),
      ...replay.environmentOf(recordings.indexOf(recording)),
    }),
    engineEnvironment: environmentOf,
    async stop() {
      replay.stop();
      await recorded.stop();
    },
  };
}

/**
 * The event of an invocation for a variant: the floor receives the calls to make instead of a
 * request.
 */
export function eventFor(
  { recordings }: Functions,
  variant: Variant,
  { route, success }: Recording,
  { event, calls }: RecordedInvocation,
): unknown {
  if (variant !== 'floor') return event;
  const rounds = roundsOf(calls).map((round) =>
    round.map(({ service, operation, input, response }) => ({
      service,
      operation,
      input,
      status: response.status,
    })),
  );
  const [, jws = ''] = (event.headers.authorization ?? '').split(' ');
  const isPublic = routes.some((row) => row.route === route && row.contract.access === 'public');
  return {
    token: isPublic ? undefined : { jws, jwk: jwkFor(jws, recordings) },
    rounds,
    statusCode: success,
  };
}

/** The public key that verifies a token, from the response to a function that read the keys. */
function jwkFor(jws: string, recordings: readonly Recording[]): unknown {
  const { kid } = JSON.parse(Buffer.from(jws.split('.', 1)[0] ?? '', 'base64url').toString());
  for (const { response } of recordings.flatMap(({ first }) => first.calls)) {
    const { Items = [] } =
      typeof response.body === 'string' ? JSON.parse(response.body) : response.body;
    for (const { jwk } of Items) if (jwk?.M.kid.S === kid) return unmarshall(jwk.M);
  }
  throw new Error(`No function read the public key ${kid}`);
}
