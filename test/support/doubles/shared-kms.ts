import { vi } from 'vitest';
import { sharedKms } from '../../../lib/runtime/kms.ts';

interface KmsCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
}

/** Makes KMS return these responses in turn, and records its calls. */
export function stubKms(...responses: (object | Error)[]): KmsCall[] {
  const calls: KmsCall[] = [];
  vi.spyOn(sharedKms(), 'send').mockImplementation(async (command: object, options: unknown) => {
    const { input } = command as Pick<KmsCall, 'input'>;
    const { abortSignal: signal } = options as { abortSignal?: AbortSignal };
    calls.push({ operation: command.constructor.name, input, signal });
    const response = responses.shift();
    if (response instanceof Error || !response) throw response;
    return response;
  });
  return calls;
}
