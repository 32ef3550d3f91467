import type { Settings } from '../../settings/settings.ts';
import type { DeployedStack } from './deployed.ts';

/**
 * A condition, what is wrong if it is true and why that matters, and what an operator does then. A
 * warning leaves the environment ready.
 */
export type Row = readonly [
  isWrong: boolean,
  problem: string,
  remedy: string,
  severity?: 'warning',
];

/** The environment to check, in one of its regions. */
export interface Target {
  readonly environment: string;
  readonly settings: Settings;
  readonly region: string;
  /** The name of the stack of the environment in this region. */
  readonly name: string;
  /** Reads this stack, once for all checks. */
  readonly stack: () => Promise<DeployedStack | undefined>;
}

/** The row to report: the first one that is wrong, a warning only if nothing else is. */
export function worstOf(rows: readonly Row[]): Row | undefined {
  const wrong = rows.filter(([isWrong]) => isWrong);
  return wrong.find(([, , , severity]) => !severity) ?? wrong[0];
}
