import { type Route, routes } from '../../../routes.ts';
import { type Deployment, type Sent, Unexpected } from './deployment.ts';

/** The outcome of one check; without a failure, it has passed. */
interface Outcome {
  readonly name: string;
  readonly failure?: string;
}

/** Thrown after the failure of a check was reported. */
class CheckFailed extends Error {}

/** Runs checks on a deployment one by one, and reports the outcome of each. */
export class Checks {
  readonly deployment: Deployment;
  readonly #report: (outcome: Outcome) => void;
  readonly #checkedRoutes = new Set<string>();

  constructor(deployment: Deployment, report: (outcome: Outcome) => void) {
    this.deployment = deployment;
    this.#report = report;
  }

  /**
   * Runs one check, which fails if its action throws. The route is the one that it checks, if any.
   */
  async check<T>(name: string, action: () => Promise<T>, route?: Route['route']): Promise<T> {
    if (route) this.#checkedRoutes.add(route);
    try {
      const result = await action();
      this.#report({ name });
      return result;
    } catch (error) {
      this.#report({ name, failure: sentenceOf(error as Error) });
      throw new CheckFailed();
    }
  }

  /**
   * Checks that a route succeeds as its contract states. Returns the headers and the body of its
   * response.
   */
  async succeeds(route: Route['route'], sent?: Sent) {
    return this.check(route, () => this.deployment.succeed(route, sent), route);
  }

  /** Checks that every route succeeds that only reads, names no entity and was not checked yet. */
  async otherReads(): Promise<void> {
    for (const { route } of routes)
      if (/^GET [^{]*$/.test(route) && !this.#checkedRoutes.has(route)) await this.succeeds(route);
  }

  /** Checks that a route rejects a request with this status. */
  async rejects(route: Route['route'], cause: string, status: number, sent: Sent) {
    return this.check(
      `${route} rejects ${cause}`,
      () => this.deployment.reject(route, status, sent),
      route,
    );
  }

  /**
   * Runs checks that depend on each other: the first failure ends them, but not those of the next
   * sequence.
   */
  async inSequence<T>(checks: () => Promise<T>): Promise<T | undefined> {
    try {
      return await checks();
    } catch (error) {
      if (error instanceof CheckFailed) return undefined;
      throw error;
    }
  }

  /** Fails unless every row of routes.ts was checked. */
  reportUnchecked(): void {
    const unchecked = routes
      .map(({ route }) => route)
      .filter((route) => !this.#checkedRoutes.has(route));
    const failure = unchecked.length > 0 ? { failure: `not ${unchecked.join(', ')}` } : {};
    this.#report({ name: 'every route was checked', ...failure });
  }
}

/** A failed expectation, or the reason why there was no response. */
function sentenceOf(error: Error): string {
  if (error instanceof Unexpected) return error.message;
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
  return `no response: ${code ?? message}`;
}
