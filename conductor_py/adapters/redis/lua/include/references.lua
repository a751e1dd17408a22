-- How many present executions name a plan in their header, by plan; the last one takes the entry with it.
local function plan_of_header(header)
  return header and string.match(header, '"plan":%s*"([^"]+)"')
end

local function count_reference(P, plan, by)
  if plan and redis.call('HINCRBY', P .. 'references', plan, by) <= 0 then
    redis.call('HDEL', P .. 'references', plan)
  end
end

-- The header among the caller's arguments "<field> <value> …" from `first` to `last`.
local function header_among(first, last)
  for i = first, last, 2 do
    if ARGV[i] == 'h' then
      return ARGV[i + 1]
    end
  end
  return nil
end
