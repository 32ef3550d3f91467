import { readCdkJson } from '../../../infra/settings/read-cdk-json.ts';
import settings from './shipped-settings.json' with { type: 'json' };

/**
 * The settings that this project ships in cdk.json. Tests rely on them instead of the file, whose
 * environments and texts belong to the operator.
 */
export const shippedSettings = settings;

/**
 * The context of cdk.json with the shipped settings; the feature flags of the CDK are those of the
 * file.
 */
export const shippedContext = { ...readCdkJson().context, ...settings };
