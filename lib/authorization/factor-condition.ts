import { type FactorRequirement, isInForce } from '../second-factor/requirement.ts';
import type { Condition } from '../table/write.ts';

/**
 * The rule of `lacksFactor` as a condition on the user's item: undefined while nothing is required.
 */
export function hasRequiredFactor(
  requirement: FactorRequirement | undefined,
  now: number,
): Condition | undefined {
  if (!requirement || !isInForce(requirement, now)) return undefined;
  const roles = requirement.roles.map((role, index) => ({ name: `:factorRole${index}`, role }));
  const hasRole = roles.map(({ name }) => `contains(#factorRoles, ${name})`).join(' OR ');
  return {
    condition: `attribute_exists(#factor) OR NOT (${hasRole})`,
    names: { '#factor': 'secondFactor', '#factorRoles': 'authorities' },
    values: Object.fromEntries(roles.map(({ name, role }) => [name, role])),
    onConditionFailed: 'retry',
  };
}
