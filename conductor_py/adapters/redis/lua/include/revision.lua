-- The revision of the definitions: a time, so that one that was lost is not given to something else.
local function next_revision(P, now)
  local revision = math.max(tonumber(redis.call('GET', P .. 'meta:revision') or 0) + 1, now)
  redis.call('SET', P .. 'meta:revision', int(revision))
  return revision
end
