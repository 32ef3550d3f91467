import { localMailbox } from './aws/mailbox.ts';
import type { Stream } from './aws/stream.ts';
import type { Interceptor } from './calls/aws-call.ts';
import { deploy } from './deploy.ts';
import type { RequestSummary } from './gateway/request-log.ts';
import { type RunOptions, runFunctions } from './lambda/functions.ts';
import { readTemplate } from './stack/template.ts';
import type { State } from './state/state.ts';

/** What stacks that run on the same table have in common. */
interface Shared {
  readonly engineUrl: string;
  readonly mailbox: ReturnType<typeof localMailbox>;
  readonly stream: Stream;
  readonly lateCalls: string[];
  readonly deniedCalls: string[];
}

export interface CloudOptions extends RunOptions {
  /** The folder of the cloud assembly; a promise while it is being synthesized. */
  readonly assembly: string | Promise<string>;
  readonly state: State;
  readonly engineUrl?: string | undefined;
  /** A stack that runs already: this one shares its table, its mailbox and the sender of mail. */
  readonly beside?: Shared;
  readonly port: number;
  /** Receives each request that the HTTP API itself rejects: no function logs it. */
  readonly onRejection?: (rejection: RequestSummary) => void;
  readonly onEngineExit: (reason: string) => void;
  /** Runs around every call to AWS that is neither denied nor late. */
  readonly intercept?: Interceptor;
  /** The page that sets a password by a mailed link; the template's if it is not given. */
  readonly mailLinkBase?: string | undefined;
}

export type Running = ReturnType<typeof runningStack>;

/** Deploys a stack on the engine at this URL, without its table and its server. */
export function runningStack(options: CloudOptions, assembly: string, engineUrl: string) {
  const template = readTemplate(assembly);
  const { mailbox, lateCalls, deniedCalls } = options.beside ?? {
    mailbox: localMailbox(options.state),
    lateCalls: [] as string[],
    deniedCalls: [] as string[],
  };
  return {
    options,
    engineUrl,
    region: template.region,
    mailbox,
    lateCalls,
    deniedCalls,
    deployed: deploy(template, options.state),
    functions: runFunctions(options),
    /** Ends with the change of the code or the stack that is under way. */
    changing: Promise.resolve() as Promise<unknown>,
    url: '',
  };
}
