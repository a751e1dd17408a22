-- Why an attempt to bring an execution back under this token may not go on; nil: it may.
local function not_restoring(P, id, token)
  local found = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'restoring')
  if found[1] then
    return 'EXISTS'
  end
  if found[2] ~= token then
    return 'GONE'
  end
end
